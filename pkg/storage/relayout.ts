/**
 * Objects that others have stored, in the layout that this program reads: their members may be in any order, as they are
 * where 1.24 stores custom objects, by the alphabet. Nothing is parsed, so that every value stays as it was written.
 */
import { closeBrace, comma, JSONCursor, openBrace } from '#apimachinery/codec/json/cursor.js';
import { isStoredLayout } from '#storage/layout.js';

interface Member {
  readonly name: string;
  readonly value: Buffer;
}

/** The value in the stored layout: itself where it is, undefined where it is no object in JSON. */
export function laidOut(value: Buffer): Buffer | undefined {
  if (isStoredLayout(value)) return value;
  const members = membersOf(value);
  if (members === undefined) return undefined;
  const head = ['kind', 'apiVersion', 'metadata'];
  const first = head.flatMap((name) => members.filter((member) => member.name === name).slice(-1));
  const metadata = first.find(({ name }) => name === 'metadata')?.value;
  const hasMetadata = metadata?.[0] === openBrace;
  const parts: (string | Buffer)[] = [];
  for (const { name, value: part } of first) if (name !== 'metadata') parts.push(`"${name}":`, part, ',');
  // What is no object cannot be anybody's metadata.
  parts.push('"metadata":', hasMetadata ? trimmed(metadata) : '{}');
  for (const { name, value: part } of members) {
    if (!head.includes(name)) parts.push(`,${JSON.stringify(name)}:`, part);
  }
  return Buffer.concat(['{', ...parts, '}'].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** An object without blanks behind its brace: the resource version is put there. */
function trimmed(object: Buffer): Buffer {
  const cursor = new JSONCursor(object, 1);
  cursor.next();
  return cursor.at === 1 ? object : Buffer.concat([object.subarray(0, 1), object.subarray(cursor.at)]);
}

function membersOf(json: Buffer): readonly Member[] | undefined {
  const cursor = new JSONCursor(json);
  const members: Member[] = [];
  if (!cursor.take(openBrace)) return undefined;
  try {
    if (cursor.next() !== closeBrace) {
      do {
        const name = cursor.name();
        const { at } = cursor;
        cursor.skipWhole();
        members.push({ name, value: json.subarray(at, cursor.at) });
      } while (cursor.take(comma));
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  return cursor.take(closeBrace) && cursor.next() < 0 ? members : undefined;
}
