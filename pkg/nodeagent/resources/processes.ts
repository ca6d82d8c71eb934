/** What cgroups need to know of the machine's processes. */
import { readFile, readlink } from 'node:fs/promises';
import { errorCode } from '#nodeagent/resources/cgroup-files.js';

export interface Processes {
  /** Of this process. */
  readonly own: number;
  /** Threads of the kernel have no program. */
  isKernels(pid: number): Promise<boolean>;
  /** The text of `/proc/<pid>/cgroup`: lines of a number, controllers and a path. */
  cgroupsOf(pid: number): Promise<string>;
  /** False where this process has another PID namespace than process 1. */
  seesMachine(): Promise<boolean>;
}

export const machineProcesses: Processes = {
  own: process.pid,
  async isKernels(pid) {
    try {
      await readlink(`/proc/${pid}/exe`);
      return false;
    } catch (error) {
      return errorCode(error) === 'ENOENT';
    }
  },
  cgroupsOf: (pid) => readFile(`/proc/${pid}/cgroup`, 'utf8'),
  async seesMachine() {
    const [first, own] = await Promise.all(['1', 'self'].map((pid) => readlink(`/proc/${pid}/ns/pid`)));
    return first === own;
  },
};
