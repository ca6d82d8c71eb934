/** Parses lines of container logs in the CRI format: `<time> <stream> <tag> <text>`. */

export interface LogLine {
  /** RFC 3339 with nanoseconds, as written. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** The text continues in the next line of the same stream. */
  readonly partial: boolean;
  /** Without the line feed. */
  readonly text: Buffer;
}

const space = 0x20;

/** Undefined for a malformed line. `line`: without the line feed. */
export function parseLogLine(line: Buffer): LogLine | undefined {
  const first = line.indexOf(space);
  const second = line.indexOf(space, first + 1);
  const third = line.indexOf(space, second + 1);
  if (first < 0 || second < 0) return undefined;
  const stream = line.toString('latin1', first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const tags = line.toString('latin1', second + 1, third < 0 ? line.length : third);
  return {
    time: line.toString('latin1', 0, first),
    stream,
    partial: tags.split(':')[0] === 'P',
    text: third < 0 ? Buffer.alloc(0) : line.subarray(third + 1),
  };
}
