"""A directory that a process serves, for the measurements of mounts."""

import os
import subprocess
import sys
import time


class Served:
    """A process that serves a directory of a folder, until it is unmounted."""

    def __init__(self, command, at):
        self.at = at
        at.mkdir()
        self.process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
        while not os.path.ismount(at):
            if self.process.poll() is not None:
                sys.exit(self.process.stderr.read())
            time.sleep(0.01)

    def end(self):
        while subprocess.run(["umount", str(self.at)], capture_output=True).returncode:
            time.sleep(0.05)
        self.process.communicate()
        self.at.rmdir()
