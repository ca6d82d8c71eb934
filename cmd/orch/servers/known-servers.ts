/** Which API servers a machine knows: those that the cluster names now, and behind them some that it named before. */
import { readFileSync } from 'node:fs';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

export interface ServerList {
  /** `host:port`; an address of IPv6 in brackets. */
  readonly current: readonly string[];
  /** The latest first: tried when none of the others answers, such as after all of them were switched off. */
  readonly former: readonly string[];
}

const maxFormer = 8;

/** The list after the cluster has named its servers. Naming none says nothing: the list stays. Pure. */
export function learned(list: ServerList, named: readonly string[]): ServerList {
  if (named.length === 0) return list;
  const current = [...new Set(named)].sort();
  const before = [...list.current, ...list.former].filter((server) => !current.includes(server));
  return { current, former: [...new Set(before)].slice(0, maxFormer) };
}

/** Remembers the list in a file, so that a machine which starts again finds servers that were added meanwhile. */
export class KnownServers {
  readonly #file: string;
  readonly #first: readonly string[];
  #list: ServerList;

  /**
   * @param first Where the list begins when there is no file, or none that can be read. They are tried last for ever: the
   * name of a load balancer stays, whatever becomes of the servers behind it.
   */
  constructor(file: string, first: readonly string[]) {
    this.#file = file;
    this.#first = first;
    this.#list = readList(file) ?? { current: first, former: [] };
  }

  /** In the order in which they are tried. */
  get all(): readonly string[] {
    return [...new Set([...this.#list.current, ...this.#list.former, ...this.#first])];
  }

  /** True when that is news. Throws the file system's errors. */
  learn(named: readonly string[]): boolean {
    const next = learned(this.#list, named);
    if (next.current.join() === this.#list.current.join()) return false;
    this.#list = next;
    replaceFile(this.#file, `${JSON.stringify(next, null, 2)}\n`);
    return true;
  }
}

/** Undefined for a file that is not there or was torn. */
function readList(file: string): ServerList | undefined {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Partial<ServerList> | null;
    const texts = (list: unknown): list is string[] =>
      Array.isArray(list) && list.every((item) => typeof item === 'string');
    const { current, former } = value ?? {};
    return texts(current) && texts(former) && current.length > 0 ? { current, former } : undefined;
  } catch {
    // The servers by which the machine joined are known besides.
    return undefined;
  }
}
