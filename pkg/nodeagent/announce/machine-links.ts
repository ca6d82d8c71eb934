/** The interfaces of the machine that this process runs on. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Links } from '#nodeagent/announce/links.js';

const execute = promisify(execFile);

/** A program that hangs must not hold up all other addresses. */
const timeoutMs = 10_000;

/** `name`: the interface of all addresses; absent: of each the one that leads to it. */
export function machineLinks(name: string | undefined): Links {
  return new Links({
    run: async (program, args) => (await execute(program, args, { timeout: timeoutMs })).stdout,
    set: (path, value) => writeFile(`/proc/sys/${path}`, value),
    ...(name === undefined ? {} : { interface: name }),
  });
}
