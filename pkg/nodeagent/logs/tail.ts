/** Reads the last lines of a log. */
import { parseLogLine } from '#nodeagent/logs/line.js';
import type { LogFile, LogFiles } from '#nodeagent/logs/log-files.js';

const blockBytes = 16 * 1024;
const lineFeed = 0x0a;

/** Offset of the last `lines` lines of a file. */
export async function tailOffset(file: LogFile, lines: number): Promise<number> {
  let position = await file.size();
  if (lines <= 0) return position;
  let lineCount = 0;
  let last = true;
  while (position > 0) {
    const start = Math.max(0, position - blockBytes);
    const block = await file.read(start, position - start);
    for (let i = block.length - 1; i >= 0; i--) {
      if (block[i] !== lineFeed) {
        last = false;
        continue;
      }
      // A final line feed ends the last line and begins no new one.
      if (last) {
        last = false;
        continue;
      }
      lineCount++;
      if (lineCount === lines) return start + i + 1;
    }
    position = start;
  }
  return 0;
}

/** Bytes to read from the end of the log: 80 line prefixes and the text. */
const maxTailBytes = 64 * 1024;

/** Text of the last lines, limited to `bytes` (less than 32 KiB); empty if there is no log. */
export async function readTail(
  files: LogFiles,
  path: string,
  limit: { lines: number; bytes: number },
): Promise<string> {
  const file = path === '' ? undefined : await files.open(path);
  if (file === undefined) return '';
  try {
    const size = await file.size();
    const start = Math.max(0, size - maxTailBytes);
    const lines = rawLines(await file.read(start, size - start));
    const texts = lines.slice(-limit.lines).map((line) => {
      const parsed = parseLogLine(line);
      if (parsed !== undefined) return parsed.partial ? parsed.text : Buffer.concat([parsed.text, newLine]);
      // The end of a long line that begins before the read bytes.
      return start > 0 && line === lines[0] ? Buffer.concat([line, newLine]) : Buffer.alloc(0);
    });
    return Buffer.concat(texts).subarray(-limit.bytes).toString();
  } finally {
    await file.close();
  }
}

const newLine = Buffer.from('\n');

function rawLines(raw: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < raw.length; ) {
    const feed = raw.indexOf(lineFeed, start);
    const end = feed < 0 ? raw.length : feed;
    lines.push(raw.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
