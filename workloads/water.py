"""CCSD of four molecules of water with all integrals in files: `python3 water.py DIR`.

A limit on memory has PySCF keep the integrals over orbitals in HDF5, and each iteration reads them again in slices.
"""

import sys

from pyscf import cc, gto, lib, scf

lib.param.TMPDIR = sys.argv[1]
atoms = []
for number in range(4):
    x, y, side = 2.9 * (number & 1), 2.9 * (number >> 1), 1 if number % 2 else -1
    atoms += [("O", (x, y, 0)), ("H", (x + 0.757, y + side * 0.586, 0)), ("H", (x - 0.757, y + side * 0.586, 0))]
molecule = gto.M(atom=atoms, basis="cc-pvdz", verbose=4, max_memory=4000)
field = scf.RHF(molecule).run()
molecule.max_memory = field.max_memory = 1
clusters = cc.CCSD(field, frozen=4)
clusters.max_memory = 1
clusters.diis_space = 6
clusters.kernel()
