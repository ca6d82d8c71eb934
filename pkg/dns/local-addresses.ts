/**
 * Addresses of DNS servers on the loopback interface, which exists on every machine and whose packets stay there. The
 * addresses remain when a server ends; the next one reuses them.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a program and returns its output; rejects if it fails. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

const timeoutMs = 10_000;

export const runProgram: RunProgram = async (program, args) =>
  (await promisify(execFile)(program, [...args], { timeout: timeoutMs })).stdout;

const loopback = 'lo';
const show = ['-oneline', 'address', 'show'];

export class LocalAddresses {
  readonly #run: RunProgram;

  constructor(run: RunProgram) {
    this.#run = run;
  }

  /** Ensures that some interface has the address. */
  async ensure(address: string): Promise<void> {
    if (!(await this.has(address))) await this.#add(address);
  }

  /** Assigns the first address that no interface has; undefined if all are in use. */
  async claim(candidates: Iterable<string>): Promise<string | undefined> {
    const existing = parseAddresses(await this.#run('ip', show));
    for (const address of candidates) if (!existing.has(address) && (await this.#add(address))) return address;
    return undefined;
  }

  async has(address: string): Promise<boolean> {
    return parseAddresses(await this.#run('ip', show)).has(address);
  }

  async release(address: string): Promise<void> {
    const own = parseAddresses(await this.#run('ip', [...show, 'dev', loopback]));
    if (own.has(address)) await this.#run('ip', ['address', 'delete', withPrefix(address), 'dev', loopback]);
  }

  /** False if the address was assigned in the meantime. */
  async #add(address: string): Promise<boolean> {
    try {
      // Scope host: packets that leave the machine do not use this source address.
      await this.#run('ip', ['address', 'add', withPrefix(address), 'dev', loopback, 'scope', 'host']);
      return true;
    } catch (error) {
      if (isThereAlready(error)) return false;
      throw error;
    }
  }
}

function withPrefix(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`;
}

/** Parses `ip -oneline address show`. */
function parseAddresses(text: string): Set<string> {
  return new Set([...text.matchAll(/^\d+: \S+\s+inet6? ([^\s/]+)/gm)].map(([, address = '']) => address));
}

function isThereAlready(error: unknown): boolean {
  return error instanceof Error && 'stderr' in error && /File exists|already assigned/.test(String(error.stderr));
}
