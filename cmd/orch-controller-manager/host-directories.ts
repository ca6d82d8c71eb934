/** Directories of this machine, for volumes of `--enable-hostpath-provisioner`. */
import { mkdir, rm } from 'node:fs/promises';
import type { HostDirectories } from '#controllers/persistentvolumebinder/host-path.js';

export const hostDirectories: HostDirectories = {
  async make(path) {
    await mkdir(path, { recursive: true, mode: 0o750 });
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
};
