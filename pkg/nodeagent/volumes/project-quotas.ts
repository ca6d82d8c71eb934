/**
 * Limits directory sizes by project quotas of the file system (ext4 and xfs, mounted with `prjquota`): each directory
 * is a project that includes everything in it. If quotas or their programs are missing, sizes are not limited, which is
 * logged once.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { type Mount, mountOf } from '#nodeagent/files/mounts.js';

/** Runs a program and returns its output; rejects if it fails. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

export interface ProjectQuotasOptions {
  readonly log: Logger;
  readonly run?: RunProgram;
  /** The mount that contains a path. */
  readonly mountOf?: (path: string) => Promise<Mount | undefined>;
}

/** Other projects, such as users' projects of xfs, have low IDs. */
const firstProject = 2 ** 30;

const execute = promisify(execFile);

export class ProjectQuotas {
  readonly #log: Logger;
  readonly #run: RunProgram;
  readonly #mountOf: (path: string) => Promise<Mount | undefined>;
  /** Runs one change at a time, so that two directories never get the same project ID. */
  #work: Promise<unknown> = Promise.resolve();
  #isLogged = false;

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
        this.#logOnce(`failed to set the quota of ${path}`, error);
      }
    });
    this.#work = work;
    await work;
  }

  /** Removes the directory with `remove`, then its limit. Rejects if `remove` does. */
  async release(path: string, remove: () => Promise<void>): Promise<void> {
    const mount = await this.#quotaMountOf(path);
    const project = mount === undefined ? 0 : await this.#projectOf(path);
    await remove();
    if (mount === undefined || project < firstProject) return;
    try {
      await this.#setLimit(mount, project, 0);
    } catch (error) {
      this.#log.warn({ path, project, problem: messageOf(error) }, 'failed to remove the quota of a removed directory');
    }
  }

  async #quotaMountOf(path: string): Promise<Mount | undefined> {
    const mount = await this.#mountOf(path);
    if (mount?.options.some((option) => option === 'prjquota' || option === 'pquota')) return mount;
    this.#logOnce(`the file system of ${dirname(path)} is not mounted with prjquota`);
    return undefined;
  }

  /** The directory's project ID; assigns one if it has none. */
  async #makeProject(path: string): Promise<number> {
    const projects = projectsIn(await this.#run('lsattr', ['-p', '--', dirname(path)]));
    const own = projects.get(path) ?? 0;
    if (own >= firstProject) return own;
    const usedProjects = new Set(projects.values());
    let project = firstProject + (createHash('sha256').update(basename(path)).digest().readUInt32BE() % firstProject);
    while (usedProjects.has(project)) project = firstProject + ((project + 1) % firstProject);
    await this.#run('chattr', ['-p', String(project), '+P', path]);
    return project;
  }

  /** 0 if unknown. */
  async #projectOf(path: string): Promise<number> {
    try {
      return projectsIn(await this.#run('lsattr', ['-p', '-d', '--', path])).get(path) ?? 0;
    } catch (error) {
      this.#log.debug({ path, problem: messageOf(error) }, 'failed to read the project of a directory');
      return 0;
    }
  }

  /** Zero removes the limit. */
  async #setLimit({ dir }: Mount, project: number, kibibytes: number): Promise<void> {
    await this.#run('setquota', ['-P', String(project), '0', String(kibibytes), '0', '0', dir]);
  }

  #logOnce(why: string, error?: unknown): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    const isMissing = (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    const problem = isMissing ? 'a program is missing (packages quota and e2fsprogs)' : error && messageOf(error);
    this.#log.info({ ...(problem !== undefined && { problem }) }, `volume sizes are not limited: ${why}`);
  }
}

/** Directory → project ID, from the output of `lsattr -p`: `1073741900 --------------e----P-- /data/pvc-1`. Pure. */
export function projectsIn(text: string): Map<string, number> {
  const projects = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, project, path] = /^\s*(\d+)\s+\S+\s+(.*)$/.exec(line) ?? [];
    if (project !== undefined && path !== undefined) projects.set(path, Number(project));
  }
  return projects;
}
