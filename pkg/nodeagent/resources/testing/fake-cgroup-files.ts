/** An in-memory file system of cgroups, mounted at `/cg`. */
import { dirname, resolve } from 'node:path';
import type { CgroupFiles } from '#nodeagent/resources/cgroup-files.js';
import { type CgroupVersion, controllers } from '#nodeagent/resources/cgroup-settings.js';

const mountPoint = '/cg';

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

export class FakeCgroupFiles implements CgroupFiles {
  readonly killed: number[] = [];
  readonly #version: CgroupVersion;
  readonly #directories = new Set<string>();
  readonly #texts = new Map<string, string>();
  readonly #processes = new Map<string, Set<number>>();
  readonly #refusals = new Map<string, { code: string; when: (text: string) => boolean }>();

  constructor(version: CgroupVersion) {
    this.#version = version;
    const roots = version === 2 ? [mountPoint] : [...controllers, 'systemd'].map((name) => `${mountPoint}/${name}`);
    for (const root of roots) this.#add(root);
    if (version === 2) this.#texts.set(`${mountPoint}/cgroup.controllers`, `cpuset ${controllers.join(' ')}\n`);
  }

  #add(dir: string): void {
    if (this.#directories.has(dir)) return;
    this.#directories.add(dir);
    this.#texts.set(`${dir}/cgroup.procs`, '');
    if (this.#version === 2) this.#texts.set(`${dir}/cgroup.subtree_control`, '');
  }

  /** The files written for a cgroup, in all hierarchies. */
  set(path: string): Record<string, string> {
    const dirs = this.#version === 2 ? [mountPoint + path] : controllers.map((name) => `${mountPoint}/${name}${path}`);
    const texts: Record<string, string> = {};
    for (const [file, text] of this.#texts) {
      const name = file.slice(dirname(file).length + 1);
      if (dirs.includes(dirname(file)) && !name.startsWith('cgroup.') && !name.includes('usage')) texts[name] = text;
    }
    return texts;
  }

  /** Makes writes to files of that name fail; `code` undefined ends that. */
  refuse(name: string, code: string | undefined, when: (text: string) => boolean = () => true): void {
    if (code === undefined) this.#refusals.delete(name);
    else this.#refusals.set(name, { code, when });
  }

  /** Adds a process to a cgroup; process 1 cannot be killed. */
  enter(dir: string, pid: number): void {
    const pids = this.#processes.get(dir) ?? new Set();
    this.#processes.set(dir, pids.add(pid));
  }

  processesOf(dir: string): number[] {
    return [...(this.#processes.get(dir) ?? [])];
  }

  /** The text of `/proc/<pid>/cgroup`. */
  membership(pid: number): string {
    const lines = [...this.#processes].flatMap(([dir, pids]) => {
      if (!pids.has(pid)) return [];
      const [, , name = '', ...rest] = dir.split('/');
      return [this.#version === 2 ? `0::${dir.slice(mountPoint.length) || '/'}` : `3:${name}:/${rest.join('/')}`];
    });
    return `${lines.join('\n')}\n`;
  }

  async make(dir: string): Promise<void> {
    const root = this.#version === 2 ? mountPoint : dir.split('/').slice(0, 3).join('/');
    if (!this.#directories.has(root)) throw failure('EROFS', dir);
    for (let each = dir; each !== root; each = dirname(each)) this.#add(each);
  }

  async remove(dir: string): Promise<void> {
    if (!this.#directories.has(dir)) throw failure('ENOENT', dir);
    const processes = this.#processes.get(dir)?.size ?? 0;
    if (processes > 0 || (await this.directories(dir)).length > 0) throw failure('EBUSY', dir);
    this.#directories.delete(dir);
    for (const file of [...this.#texts.keys()]) if (dirname(file) === dir) this.#texts.delete(file);
  }

  async exists(path: string): Promise<boolean> {
    return this.#directories.has(resolve(path)) || this.#texts.has(path);
  }

  async directories(dir: string): Promise<string[]> {
    return [...this.#directories].filter((each) => dirname(each) === dir).map((each) => each.slice(dir.length + 1));
  }

  async read(file: string): Promise<string> {
    const processes = file.endsWith('/cgroup.procs') ? this.#processes.get(dirname(file)) : undefined;
    const text = processes === undefined ? this.#texts.get(file) : [...processes].map((pid) => `${pid}\n`).join('');
    if (text === undefined) throw failure('ENOENT', file);
    return text;
  }

  async write(file: string, text: string): Promise<void> {
    if (!this.#directories.has(dirname(file))) throw failure('ENOENT', file);
    const refusal = this.#refusals.get(file.slice(dirname(file).length + 1));
    if (refusal?.when(text)) throw failure(refusal.code, file);
    if (file.endsWith('/cgroup.procs')) {
      this.#move(dirname(file), Number(text));
      return;
    }
    this.#texts.set(file, file.endsWith('/cgroup.subtree_control') ? text.replaceAll('+', '') : text);
  }

  /** A process is in one cgroup of each hierarchy. */
  #move(to: string, pid: number): void {
    const root = this.#version === 2 ? mountPoint : to.split('/').slice(0, 3).join('/');
    for (const [dir, pids] of this.#processes) if (dir === root || dir.startsWith(`${root}/`)) pids.delete(pid);
    this.enter(to, pid);
  }

  kill(pid: number): void {
    this.killed.push(pid);
    for (const pids of this.#processes.values()) pids.delete(pid);
  }
}
