/** Log lines as the daemons of release 1.24 write them: `I0503 00:00:00.123456  4711 scheduler] "Message" key="value"`. */

/** pino's numbers. */
const letters: Readonly<Record<number, string>> = { 10: 'I', 20: 'I', 30: 'I', 40: 'W', 50: 'E', 60: 'F' };

export interface TextFormatOptions {
  readonly pid: number;
  /** Also print the stack of errors. */
  readonly stacks: boolean;
}

/** One record as pino hands it on, as one line with its newline. */
export function formatText(record: Readonly<Record<string, unknown>>, options: TextFormatOptions): string {
  const { level, time, msg, name, pid: _pid, hostname: _hostname, err, ...fields } = record;
  const letter = letters[Number(level)] ?? 'I';
  const message = JSON.stringify(String(msg ?? ''));
  let line = `${letter}${timestamp(Number(time))} ${String(options.pid).padStart(7)} ${String(name ?? '-')}] ${message}`;
  if (err !== undefined) line += ` err=${JSON.stringify(errorText(err))}`;
  for (const [key, value] of Object.entries(fields)) line += ` ${key}=${valueText(value)}`;
  const stack = options.stacks ? stackOf(err) : undefined;
  return stack === undefined ? `${line}\n` : `${line}\n${stack}\n`;
}

/** Month, day, time with microseconds, in UTC. */
function timestamp(ms: number): string {
  const text = new Date(ms).toISOString();
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 23)}000`;
}

function valueText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // Keys of objects read as they do in every other tool: namespace/name.
  if (isReference(value)) return JSON.stringify(value.namespace ? `${value.namespace}/${value.name}` : value.name);
  return typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? 'undefined');
}

function isReference(value: unknown): value is { namespace?: string; name: string } {
  if (typeof value !== 'object' || value === null) return false;
  const keys = Object.keys(value);
  return (
    keys.every((key) => key === 'namespace' || key === 'name') && 'name' in value && typeof value.name === 'string'
  );
}

function errorText(err: unknown): string {
  if (typeof err === 'object' && err !== null && 'message' in err) return String(err.message);
  return typeof err === 'string' ? err : JSON.stringify(err);
}

function stackOf(err: unknown): string | undefined {
  return typeof err === 'object' && err !== null && 'stack' in err ? String(err.stack) : undefined;
}
