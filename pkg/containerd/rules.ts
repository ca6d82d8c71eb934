/**
 * iptables rules that network plugins create for each sandbox. A killed plugin leaves its rules, and later calls do not
 * remove them, since they derive the rules from the network of an existing sandbox.
 */
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A chain of one sandbox, for masquerading or host ports. */
const sandboxChain = /^CNI-(?:DN-|SN-)?[0-9a-f]{16,}$/;

/**
 * Input of `iptables-restore --noflush` to remove the rules of a network's sandboxes; undefined without rules. Pure.
 * @param saved Output of `iptables-save -t nat`.
 * @param network Name of the network, which the plugins write into a comment on each rule.
 */
export function removalOfRules(saved: string, network: string): string | undefined {
  const chains = new Set<string>();
  const single: string[] = [];
  for (const line of saved.split('\n')) {
    const chain = /^-A (\S+) /.exec(line)?.[1];
    if (chain === undefined || !line.includes(`name: \\"${network}\\" `)) continue;
    const target = / -j (\S+)/.exec(line)?.[1] ?? '';
    if (sandboxChain.test(target)) chains.add(target);
    // Rules in a sandbox's chain are removed with the chain.
    if (sandboxChain.test(chain)) chains.add(chain);
    else single.push(line.replace(/^-A /, '-D '));
  }
  if (chains.size === 0 && single.length === 0) return undefined;
  const flushes = [...chains].map((chain) => `-F ${chain}`);
  const removals = [...chains].map((chain) => `-X ${chain}`);
  return ['*nat', ...single, ...flushes, ...removals, 'COMMIT', ''].join('\n');
}

/** Removes all rules of a network without sandboxes. Rejects with the program's message. */
export async function removeRules(network: string): Promise<void> {
  const { stdout } = await run('iptables-save', ['-t', 'nat'], { maxBuffer: 64 * 1024 * 1024 });
  const removal = removalOfRules(stdout, network);
  if (removal === undefined) return;
  await new Promise<void>((resolve, reject) => {
    const restore = spawn('iptables-restore', ['--noflush', '--wait'], { stdio: ['pipe', 'ignore', 'pipe'] });
    let message = '';
    restore.stderr.on('data', (part: Buffer) => {
      message += part.toString();
    });
    restore.stdin.on('error', () => undefined);
    restore.once('error', reject);
    restore.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`iptables-restore exited with code ${code}: ${message.trim()}`));
    });
    restore.stdin.end(removal);
  });
}
