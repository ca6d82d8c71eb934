/** Runs nft(8): changes and lists tables. */
import type { KernelRules } from '#proxy/loop/rule-loop.js';
import { parseListing, type TableListing } from '#proxy/nft/listing.js';
import type { RunWithInput } from '#proxy/program/run-program.js';

export class Nft {
  readonly #run: RunWithInput;

  constructor(run: RunWithInput) {
    this.#run = run;
  }

  /** Version line; rejects if nft does not exist. */
  version(): Promise<string> {
    return this.#run('nft', ['--version']);
  }

  /** Applies commands as one transaction. */
  async apply(commands: string): Promise<void> {
    await this.#run('nft', ['-f', '-'], commands);
  }

  /** Undefined if the table does not exist. */
  async list(table: string): Promise<TableListing | undefined> {
    if (!(await this.has(table))) return undefined;
    return parseListing(await this.#run('nft', ['-j', 'list', 'table', 'inet', table]));
  }

  /** The elements of a map. */
  async listMap(table: string, map: string): Promise<ReadonlyMap<string, string>> {
    const listing = parseListing(await this.#run('nft', ['-j', 'list', 'map', 'inet', table, map]));
    return listing.sets.get(map) ?? new Map<string, string>();
  }

  async has(table: string): Promise<boolean> {
    const tables = await this.#run('nft', ['list', 'tables', 'inet']);
    return tables.split('\n').includes(`table inet ${table}`);
  }

  /** The kernel's rules in one table. */
  table(name: string): KernelRules<TableListing, string> {
    return {
      name,
      has: () => this.has(name),
      list: () => this.list(name),
      apply: (commands) => this.apply(commands),
    };
  }

  /** Does nothing if the table does not exist. */
  async deleteTable(table: string): Promise<void> {
    if (await this.has(table)) await this.apply(`delete table inet ${table}\n`);
  }
}
