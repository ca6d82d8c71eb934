/**
 * Addresses of name servers, on the loopback interface: every machine has it, and packets for them stay on the machine.
 * They stay there when a name server ends; the next finds them.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a program and returns what it prints; rejects when it fails. */
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

  /** The machine has the address afterwards, on whatever interface. */
  async ensure(address: string): Promise<void> {
    if (!(await this.has(address))) await this.#add(address);
  }

  /** Takes the first of these that no interface of the machine has; undefined when all are taken. */
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

  /** False when somebody else was faster. */
  async #add(address: string): Promise<boolean> {
    try {
      // Within this host: no packet that leaves it is to have the address by itself.
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

/** Of `ip -oneline address show`. */
function parseAddresses(text: string): Set<string> {
  return new Set([...text.matchAll(/^\d+: \S+\s+inet6? ([^\s/]+)/gm)].map(([, address = '']) => address));
}

function isThereAlready(error: unknown): boolean {
  return error instanceof Error && 'stderr' in error && /File exists|already assigned/.test(String(error.stderr));
}
