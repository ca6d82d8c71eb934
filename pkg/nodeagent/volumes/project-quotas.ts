/**
 * Limits of directories' sizes by project quotas of their file system (ext4 and xfs, mounted with `prjquota`): each
 * directory is a project, and so is all that is made in it. Where there are none, or the programs for them are missing,
 * directories are as large as they become, which is told once.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { type Mount, mountOf } from '#nodeagent/files/mounts.js';

/** Runs a program and returns what it prints; rejects when it fails. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

export interface ProjectQuotasOptions {
  readonly log: Logger;
  readonly run?: RunProgram;
  /** The mount that a path is on. */
  readonly mountOf?: (path: string) => Promise<Mount | undefined>;
}

/** Others, such as users' projects of xfs, have low numbers. */
const firstProject = 2 ** 30;

const execute = promisify(execFile);

export class ProjectQuotas {
  readonly #log: Logger;
  readonly #run: RunProgram;
  readonly #mountOf: (path: string) => Promise<Mount | undefined>;
  /** One after the other: two directories must not become one project. */
  #work: Promise<unknown> = Promise.resolve();
  #isTold = false;

  constructor(options: ProjectQuotasOptions) {
    this.#log = options.log;
    this.#run = options.run ?? (async (program, args) => (await execute(program, [...args])).stdout);
    this.#mountOf = options.mountOf ?? mountOf;
  }

  /** Never rejects: a directory without a limit is better than none. */
  async limit(path: string, bytes: number): Promise<void> {
    const work = this.#work.then(async () => {
      const mount = await this.#quotaMountOf(path);
      if (mount === undefined) return;
      try {
        const project = await this.#makeProject(path);
        await this.#setLimit(mount, project, Math.ceil(bytes / 1024));
      } catch (error) {
        this.#tell(`the quota of ${path} cannot be set`, error);
      }
    });
    this.#work = work;
    await work;
  }

  /** Removes the directory by `remove`, and its limit after that. Rejects when `remove` does. */
  async release(path: string, remove: () => Promise<void>): Promise<void> {
    const mount = await this.#quotaMountOf(path);
    const project = mount === undefined ? 0 : await this.#projectOf(path);
    await remove();
    if (mount === undefined || project < firstProject) return;
    try {
      await this.#setLimit(mount, project, 0);
    } catch (error) {
      this.#log.warn({ path, project, problem: messageOf(error) }, 'The quota of a removed directory stays');
    }
  }

  async #quotaMountOf(path: string): Promise<Mount | undefined> {
    const mount = await this.#mountOf(path);
    if (mount?.options.some((option) => option === 'prjquota' || option === 'pquota')) return mount;
    this.#tell(`the file system of ${dirname(path)} is not mounted with prjquota`);
    return undefined;
  }

  /** The project of the directory, which becomes one unless it is. */
  async #makeProject(path: string): Promise<number> {
    const projects = projectsIn(await this.#run('lsattr', ['-p', '--', dirname(path)]));
    const own = projects.get(path) ?? 0;
    if (own >= firstProject) return own;
    const taken = new Set(projects.values());
    let project = firstProject + (createHash('sha256').update(basename(path)).digest().readUInt32BE() % firstProject);
    while (taken.has(project)) project = firstProject + ((project + 1) % firstProject);
    await this.#run('chattr', ['-p', String(project), '+P', path]);
    return project;
  }

  /** 0 where that cannot be told. */
  async #projectOf(path: string): Promise<number> {
    try {
      return projectsIn(await this.#run('lsattr', ['-p', '-d', '--', path])).get(path) ?? 0;
    } catch (error) {
      this.#log.debug({ path, problem: messageOf(error) }, 'The project of a directory is not known');
      return 0;
    }
  }

  /** Zero takes the limit away. */
  async #setLimit({ dir }: Mount, project: number, kibibytes: number): Promise<void> {
    await this.#run('setquota', ['-P', String(project), '0', String(kibibytes), '0', '0', dir]);
  }

  #tell(why: string, error?: unknown): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const isMissing = (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    const problem = isMissing ? 'a program is missing (packages quota and e2fsprogs)' : error && messageOf(error);
    this.#log.info({ ...(problem !== undefined && { problem }) }, `Volumes may outgrow what was asked for: ${why}`);
  }
}

/** Directory → its project, from what `lsattr -p` prints: `1073741900 --------------e----P-- /data/pvc-1`. Pure. */
export function projectsIn(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, project, path] = /^\s*(\d+)\s+\S+\s+(.*)$/.exec(line) ?? [];
    if (project !== undefined && path !== undefined) found.set(path, Number(project));
  }
  return found;
}
