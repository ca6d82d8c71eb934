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

/** Chains of host ports, which the networks of a machine share. */
const sharedChains = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-SETMARK', 'CNI-HOSTPORT-MASQ'];

/** Input of `iptables-restore --noflush` to remove the shared chains; undefined while a network uses them. Pure. */
export function removalOfSharedChains(saved: string): string | undefined {
  const lines = saved.split('\n');
  const declared = lines.flatMap((line) => /^:(\S+) /.exec(line)?.[1] ?? []);
  const chains = sharedChains.filter((chain) => declared.includes(chain));
  const isUsed = declared.some((chain) => sandboxChain.test(chain)) || lines.some((line) => isHostPort(line));
  if (chains.length === 0 || isUsed) return undefined;
  const jumps = lines.filter((line) => chains.includes(/ -j (\S+)/.exec(line)?.[1] ?? '') && line.startsWith('-A '));
  const steps = ['-F', '-X'].flatMap((step) => chains.map((chain) => `${step} ${chain}`));
  return ['*nat', ...jumps.map((line) => line.replace(/^-A /, '-D ')), ...steps, 'COMMIT', ''].join('\n');
}

const isHostPort = (line: string): boolean => line.startsWith('-A CNI-HOSTPORT-DNAT ');

/** Removes all rules of a network without sandboxes, and what networks share after the last one. Rejects with the program's message. */
export async function removeRules(network: string): Promise<void> {
  const removal = removalOfRules(await savedRules(), network);
  if (removal !== undefined) await restore(removal);
  const shared = removalOfSharedChains(await savedRules());
  if (shared === undefined) return;
  try {
    await restore(shared);
  } catch (error) {
    // Another network may have begun to use the chains meanwhile; then they stay.
    if (removalOfSharedChains(await savedRules()) !== undefined) throw error;
  }
}

async function savedRules(): Promise<string> {
  return (await run('iptables-save', ['-t', 'nat'], { maxBuffer: 64 * 1024 * 1024 })).stdout;
}

async function restore(input: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const program = spawn('iptables-restore', ['--noflush', '--wait'], { stdio: ['pipe', 'ignore', 'pipe'] });
    let message = '';
    program.stderr.on('data', (part: Buffer) => {
      message += part.toString();
    });
    program.stdin.on('error', () => undefined);
    program.once('error', reject);
    program.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`iptables-restore exited with code ${code}: ${message.trim()}`));
    });
    program.stdin.end(input);
  });
}
