! A simulation whose field is larger than its memory: unformatted records, one for each plane, through gfortran's own
! buffers. A step reads the file of the last step from its beginning and writes that of the next; every fourth step
! appends a record with a digest to a log of direct access, and reads all of the log; the last step reads the file back
! twice (rewind) and once from its end (backspace).
program stencil
    implicit none
    integer, parameter :: n = 256, planes = 96, steps = 12
    real(8), allocatable :: below(:, :), here(:, :), above(:, :), next(:, :)
    real(8) :: digest(512), total
    integer :: step, plane, pass, from, to, written

    allocate (below(n, n), here(n, n), above(n, n), next(n, n))
    open (10, file='field0.bin', form='unformatted', access='sequential', status='replace')
    open (11, file='field1.bin', form='unformatted', access='sequential', status='replace')
    open (12, file='digest.bin', form='unformatted', access='direct', recl=4096, status='replace')
    do plane = 1, planes
        here = plane
        write (10) here
    end do
    written = 0
    do step = 1, steps
        from = 10 + mod(step - 1, 2)
        to = 21 - from
        rewind (from)
        rewind (to)
        read (from) here
        below = here
        do plane = 1, planes
            if (plane < planes) read (from) above
            next = (4 * here + below + above + cshift(here, 1, 1) + cshift(here, 1, 2)) / 8
            write (to) next
            below = here
            here = above
        end do
        if (mod(step, 4) == 0) then
            digest = reshape(next(:, 1:2), [512])
            written = written + 1
            write (12, rec=written) digest
            do plane = 1, written
                read (12, rec=plane) digest
            end do
        end if
    end do
    total = 0
    do pass = 1, 2
        rewind (to)
        do plane = 1, planes
            read (to) here
            total = total + sum(here)
        end do
    end do
    do plane = 1, planes
        backspace (to)
        read (to) here
        total = total + sum(here)
        backspace (to)
    end do
    print *, total
end program
