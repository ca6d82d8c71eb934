/** Simulated processes: the few commands that tests and examples use. */

export interface Program {
  /** Undefined: runs until it is stopped. */
  readonly exitAfterMs?: number;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Copies its standard input to its output. */
  readonly copiesInput: boolean;
  /** It is known to run until it is stopped, unlike a program of which nothing is known. */
  readonly isEndless?: boolean;
}

interface Context {
  readonly env: Readonly<Record<string, string>>;
  readonly hostname: string;
}

const quiet = { exitCode: 0, stdout: '', stderr: '', copiesInput: false } as const;

function statement(words: readonly string[], context: Context): Program {
  const [name = '', ...args] = words;
  switch (name.slice(name.lastIndexOf('/') + 1)) {
    case '':
    case 'true':
    case ':':
      return { ...quiet, exitAfterMs: 0 };
    case 'false':
      return { ...quiet, exitAfterMs: 0, exitCode: 1 };
    case 'exit':
      return { ...quiet, exitAfterMs: 0, exitCode: Number(args[0] ?? 0) & 0xff };
    case 'sleep':
      return sleep(args);
    case 'tail':
      return { ...quiet, isEndless: true };
    case 'echo':
      return args.at(-1) === '>&2'
        ? { ...quiet, exitAfterMs: 0, stderr: `${args.slice(0, -1).join(' ')}\n` }
        : { ...quiet, exitAfterMs: 0, stdout: `${args.join(' ')}\n` };
    case 'cat':
      return { ...quiet, exitAfterMs: 0, copiesInput: true };
    case 'hostname':
      return { ...quiet, exitAfterMs: 0, stdout: `${context.hostname}\n` };
    case 'env':
      return {
        ...quiet,
        exitAfterMs: 0,
        stdout: Object.entries(context.env)
          .map(([key, value]) => `${key}=${value}\n`)
          .join(''),
      };
    case 'date':
    case 'ls':
    case 'ps':
    case 'kill':
    case 'test':
    case 'touch':
    case 'wget':
      return { ...quiet, exitAfterMs: 0 };
    default:
      return quiet;
  }
}

const unitSeconds: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** The sum of durations such as `5`, `1.5m` and `infinity`, as coreutils' program takes them. */
function sleep(args: readonly string[]): Program {
  let seconds = 0;
  for (const arg of args) {
    if (/^inf(inity)?$/i.test(arg)) return { ...quiet, isEndless: true };
    const [, amount, unit = ''] = /^(\d+(?:\.\d*)?)([smhd]?)$/.exec(arg) ?? [];
    if (amount === undefined) {
      return { ...quiet, exitAfterMs: 0, exitCode: 1, stderr: `sleep: invalid time interval '${arg}'\n` };
    }
    seconds += Number(amount) * (unitSeconds[unit] ?? 1);
  }
  return { ...quiet, exitAfterMs: seconds * 1000 };
}

/** Runs statements of `sh -c`, joined by `;` or `&&`, until one keeps running, exits or fails. */
function script(text: string, context: Context): Program {
  let total: Program = { ...quiet, exitAfterMs: 0 };
  for (const part of text.split(/;|&&/)) {
    const words = [...part.trim().matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3] ?? '');
    const next = statement(words, context);
    const elapsed = next.exitAfterMs === undefined ? undefined : (total.exitAfterMs ?? 0) + next.exitAfterMs;
    total = {
      exitCode: next.exitCode,
      stdout: total.stdout + next.stdout,
      stderr: total.stderr + next.stderr,
      copiesInput: total.copiesInput || next.copiesInput,
      ...(next.isEndless === true ? { isEndless: true } : {}),
      ...(elapsed === undefined ? {} : { exitAfterMs: elapsed }),
    };
    if (elapsed === undefined || words[0] === 'exit') break;
  }
  return total;
}

/** The program of a command line. Unknown commands run until they are stopped. */
export function programOf(argv: readonly string[], context: Context): Program {
  const [name = '', flag = '', text] = argv;
  const shell = /(^|\/)(sh|ash|bash)$/.test(name);
  if (shell && flag === '-c' && text !== undefined) return script(text, context);
  if (shell) return { ...quiet, copiesInput: true, exitAfterMs: 0 };
  return argv.length === 0 ? quiet : statement(argv, context);
}
