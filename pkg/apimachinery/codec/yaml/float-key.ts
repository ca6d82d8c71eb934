/** Doubles as keys of maps: 1.24 writes them with the digits of 32 bits. */
import { goFloat } from '#apimachinery/errors/go-value.js';

export function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  const float = Math.fround(value);
  if (!Number.isFinite(float)) return float > 0 ? '.inf' : '-.inf';
  for (let digits = 0; ; digits++) {
    const text = float.toExponential(digits);
    if (Math.fround(Number(text)) === float) return goFloat(float, text);
  }
}
