/** Runs credential plugins. */
import { spawn } from 'node:child_process';
import { childExit } from '#daemon/process/child-exit.js';

export interface PluginCall {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether it may talk with the user through the standard input. */
  readonly interactive: boolean;
}

export type PluginResult =
  | { readonly kind: 'ended'; readonly code: number; readonly stdout: string }
  | { readonly kind: 'notFound' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface PluginSurroundings {
  /** Whether a user sits at the standard input. */
  readonly terminal: boolean;
  run(call: PluginCall): Promise<PluginResult>;
}

/** More than this is no credential. */
const maxOutputBytes = 4 * 1024 * 1024;

/** Plugins as child processes with that environment; what they complain about goes to our standard error. */
export function childProcessPlugins(
  env: Readonly<Record<string, string | undefined>>,
  terminal = false,
): PluginSurroundings {
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
