/** Builds a kustomization of this machine, with what it reads from elsewhere. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { buildKustomization } from '#cmd/orchctl/kustomize/build.js';
import { Folder } from '#cmd/orchctl/kustomize/files.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';

/** Throws a CommandError. @param anywhere Whether files may lie outside of the folder. */
export async function runKustomization(
  path: string,
  { env, err, signal }: Pick<Terminal, 'env' | 'err' | 'signal'>,
  { anywhere = false }: { readonly anywhere?: boolean } = {},
): Promise<JsonObject[]> {
  const copies: string[] = [];
  const clone = async (repository: string, reference: string | undefined) => {
    const copy = mkdtempSync(join(tmpdir(), 'kustomize-'));
    copies.push(copy);
    const git = (...args: string[]) => runGit(args, copy, { env, signal });
    await git('init', '-q');
    // As kustomize: a branch, a tag or a commit, without its history.
    await git('fetch', '-q', '--depth=1', '--', repository, reference ?? 'HEAD');
    await git('checkout', '-q', 'FETCH_HEAD');
    return copy;
  };
  try {
    const folder = await Folder.open(path, { clone, fetch: (url) => read(url, signal), anywhere });
    return await buildKustomization(folder, { env, warn: (text) => err.write(`${text}\n`) });
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
}

async function read(url: string, signal: AbortSignal): Promise<Buffer> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new CommandError(`HTTP Error: status code ${response.status} (${response.statusText})`);
  return Buffer.from(await response.arrayBuffer());
}

function runGit(
  args: readonly string[],
  cwd: string,
  { env, signal }: Pick<Terminal, 'env' | 'signal'>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // Git must not ask: there may be no terminal.
    execFile('git', args, { cwd, env: { ...env, GIT_TERMINAL_PROMPT: '0' }, signal }, (error, _out, text) => {
      if (error === null) resolve();
      else reject(new CommandError(`failed to run 'git ${args.join(' ')}': ${text.trim() || error.message}`));
    });
  });
}
