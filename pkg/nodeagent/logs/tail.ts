/** The last lines of a log. */
import { parseLogLine } from '#nodeagent/logs/line.js';
import type { LogFile, LogFiles } from '#nodeagent/logs/log-files.js';

const blockBytes = 16 * 1024;
const lineFeed = 0x0a;

/** Offset at which the last `lines` lines of a file begin. */
export async function tailOffset(file: LogFile, lines: number): Promise<number> {
  let position = await file.size();
  if (lines <= 0) return position;
  let found = 0;
  let last = true;
  while (position > 0) {
    const start = Math.max(0, position - blockBytes);
    const block = await file.read(start, position - start);
    for (let i = block.length - 1; i >= 0; i--) {
      if (block[i] !== lineFeed) {
        last = false;
        continue;
      }
      // The feed that ends the file ends its last line; it does not begin another.
      if (last) {
        last = false;
        continue;
      }
      found++;
      if (found === lines) return start + i + 1;
    }
    position = start;
  }
  return 0;
}

/** Text of the last lines, at most `bytes` of it; empty when there is no log. */
export async function readTail(
  files: LogFiles,
  path: string,
  limit: { lines: number; bytes: number },
): Promise<string> {
  const file = path === '' ? undefined : await files.open(path);
  if (file === undefined) return '';
  try {
    const offset = await tailOffset(file, limit.lines);
    const raw = await file.read(offset, Math.max(0, (await file.size()) - offset));
    const parts: string[] = [];
    for (const line of raw.toString('latin1').split('\n')) {
      const parsed = parseLogLine(Buffer.from(line, 'latin1'));
      if (parsed !== undefined) parts.push(parsed.text.toString() + (parsed.partial ? '' : '\n'));
    }
    return parts.join('').slice(-limit.bytes);
  } finally {
    await file.close();
  }
}
