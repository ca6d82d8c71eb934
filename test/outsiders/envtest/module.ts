/** Copies of published Go modules, in which their own tests run. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EnvtestSuite } from '#test/outsiders/envtest/suites.js';

const run = promisify(execFile);
/** Large enough for the tool's list of what it fetched; bytes. */
const maxBuffer = 64 * 1024 * 1024;

/** Written at the end, so that an interrupted copy is made again. */
const mark = 'orch-prepared';

/**
 * The folder of a suite's module, ready for `go test`.
 * @throws Error: the module is not published, needs a newer Go, or its preparation fails.
 */
export async function prepareModule(suite: EnvtestSuite, built: string): Promise<string> {
  const folder = join(built, 'envtest', `${suite.name}@${suite.version}`);
  const recipe = JSON.stringify([suite.module, suite.version, suite.replace, suite.prepare]);
  if ((await readFile(join(folder, mark), 'utf8').catch(ignoreMissing)) === recipe) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, '..'), { recursive: true });
  await cp(await download(`${suite.module}@${suite.version}`), folder, { recursive: true });
  await makeWritable(folder);
  for (const replacement of suite.replace ?? [])
    await run('go', ['mod', 'edit', `-replace=${replacement}`], { cwd: folder });
  const script = (suite.prepare ?? []).join('\n');
  if (script !== '') await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, maxBuffer });
  await writeFile(join(folder, mark), recipe);
  return folder;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

async function download(module: string): Promise<string> {
  // Outside of any module; a failure is in the output as well, with a better word.
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: '/', maxBuffer }).catch(
    (error: { readonly stdout?: string; readonly message: string }) => {
      if (error.stdout?.startsWith('{') !== true) throw new Error(`${module}: ${error.message}`);
      return { stdout: error.stdout };
    },
  );
  const { Dir: folder, Error: reason } = JSON.parse(stdout) as { readonly Dir?: string; readonly Error?: string };
  if (folder === undefined) throw new Error(`${module}: ${reason ?? 'was not fetched'}`);
  return folder;
}

/** Published modules are read-only and keep no file modes; shell scripts get theirs back. */
async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeWritable(path);
    else if (entry.isFile()) {
      const { mode } = await stat(path);
      await chmod(path, entry.name.endsWith('.sh') ? 0o755 : mode | 0o200);
    }
  }
}
