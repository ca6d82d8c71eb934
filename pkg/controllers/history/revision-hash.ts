/** The hash that names a revision. Source: 1.24, pkg/controller/history/controller_history.go (HashControllerRevision). */
import { nameAlphabet as alphabet } from '#apimachinery/generate-name.js';
import { goJson } from '#apimachinery/go-json.js';

/** Of the data's bytes as 1.24 writes them, with the number of collisions behind them. */
export function revisionHash(data: unknown, collisionCount: number): string {
  const hash = fnv1(Buffer.from(`${goJson(data)}${collisionCount}`));
  return [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('');
}

/** 32-bit FNV-1. */
function fnv1(bytes: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return hash;
}
