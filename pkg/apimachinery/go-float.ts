/** Doubles as Go's `%v` and `%g` write them: the shortest digits, with an exponent for what is small or a million and more. */

/** `shortest`: the digits in JavaScript's form with an exponent, where they are not those of a double. */
export function goFloat(value: number, shortest: string = value.toExponential()): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', exponent = '0'] = shortest.split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return expanded(digits, power);
  const sign = power < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

function expanded(mantissa: string, power: number): string {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`;
  if (digits.length <= power + 1) return sign + digits.padEnd(power + 1, '0');
  return `${sign}${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`;
}
