/** Runs credential plugins. */
import { spawn } from 'node:child_process';
import { childExit } from '#daemon/process/child-exit.js';

export interface PluginCall {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the plugin may read from the user's standard input. */
  readonly interactive: boolean;
}

export type PluginResult =
  | { readonly kind: 'ended'; readonly code: number; readonly stdout: string }
  | { readonly kind: 'notFound' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface PluginRunner {
  /** Whether standard input is a terminal. */
  readonly terminal: boolean;
  run(call: PluginCall): Promise<PluginResult>;
}

/** Limit of the plugin's output; credentials are far shorter. */
const maxOutputBytes = 4 * 1024 * 1024;

/** Runs plugins as child processes with that environment; their standard error goes to ours. */
export function childProcessPlugins(env: Readonly<Record<string, string | undefined>>, terminal = false): PluginRunner {
  return { terminal, run: (call) => runChild(call, env) };
}

async function runChild(call: PluginCall, env: Readonly<Record<string, string | undefined>>): Promise<PluginResult> {
  const child = spawn(call.command, [...call.args], {
    env: { ...env, ...call.env },
    stdio: [call.interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxOutputBytes) chunks.push(chunk);
    else child.kill('SIGKILL');
  });
  try {
    const [code, signal] = await childExit(child);
    if (size > maxOutputBytes) return { kind: 'failed', reason: `printed more than ${maxOutputBytes} bytes` };
    if (code === null) return { kind: 'failed', reason: `ended by ${signal ?? 'a signal'}` };
    return { kind: 'ended', code, stdout: Buffer.concat(chunks).toString('utf8') };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { kind: 'notFound' } : { kind: 'failed', reason: message };
  }
}
