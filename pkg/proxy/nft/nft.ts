/** nft(8) as a program: transactions in, listings out. */
import { spawn } from 'node:child_process';
import { parseListing, type TableListing } from '#proxy/nft/listing.js';

/** Runs a program with a text to read, and returns what it prints; rejects when it fails. */
export type RunWithInput = (program: string, args: readonly string[], input?: string) => Promise<string>;

/** A program failed: `message` has what it said. */
export class ProgramError extends Error {
  readonly code: number | null;

  constructor(message: string, code: number | null) {
    super(message);
    this.name = 'ProgramError';
    this.code = code;
  }
}

const timeoutMs = 60_000;
/** Of an error: nft repeats the line that it does not like, which may have a hundred thousand elements. */
const maxErrorBytes = 2000;

export const runWithInput: RunWithInput = (program, args, input = '') =>
  new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], timeout: timeoutMs });
    const output: Buffer[] = [];
    let errors = '';
    child.stdout.on('data', (part: Buffer) => output.push(part));
    child.stderr.on('data', (part: Buffer) => {
      if (errors.length < maxErrorBytes) errors += part.toString().slice(0, maxErrorBytes);
    });
    // It may end before it has read everything; its exit code tells.
    child.stdin.on('error', () => undefined);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(output).toString());
      else reject(new ProgramError(`${program} ended with ${code ?? signal}: ${errors.trim()}`, code));
    });
    child.stdin.end(input);
  });

export class Nft {
  readonly #run: RunWithInput;

  constructor(run: RunWithInput) {
    this.#run = run;
  }

  /** The version's line; rejects where there is no nft. */
  version(): Promise<string> {
    return this.#run('nft', ['--version']);
  }

  /** All of it, or a rejection and nothing. */
  async apply(commands: string): Promise<void> {
    await this.#run('nft', ['-f', '-'], commands);
  }

  /** Undefined where there is no such table. */
  async list(table: string): Promise<TableListing | undefined> {
    if (!(await this.has(table))) return undefined;
    return parseListing(await this.#run('nft', ['-j', 'list', 'table', 'inet', table]));
  }

  /** The elements of one map. */
  async listMap(table: string, map: string): Promise<ReadonlyMap<string, string>> {
    const listing = parseListing(await this.#run('nft', ['-j', 'list', 'map', 'inet', table, map]));
    return listing.sets.get(map) ?? new Map<string, string>();
  }

  async has(table: string): Promise<boolean> {
    const tables = await this.#run('nft', ['list', 'tables', 'inet']);
    return tables.split('\n').includes(`table inet ${table}`);
  }

  /** Nothing to delete is no error. */
  async deleteTable(table: string): Promise<void> {
    if (await this.has(table)) await this.apply(`delete table inet ${table}\n`);
  }
}
