/** Addresses that traffic from outside can be sent to. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { blockContains, ipBytes, parseCIDR } from '#apimachinery/validation/ip.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const ranges: readonly (readonly [text: string, blocks: readonly string[]])[] = [
  ['may not be in the loopback range (127.0.0.0/8, ::1/128)', ['127.0.0.0/8', '::1/128']],
  ['may not be in the link-local range (169.254.0.0/16, fe80::/10)', ['169.254.0.0/16', 'fe80::/10']],
  ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)', ['224.0.0.0/24', 'ff02::/16']],
];

/** Neither unspecified, nor loopback, nor link-local. */
export function validateNonSpecialIP(path: FieldPath, address: string): FieldFailure[] {
  const bytes = ipBytes(address);
  if (bytes === undefined) return [invalidValue(path, address, 'must be a valid IP address')];
  const failures: FieldFailure[] = [];
  if (address === '0.0.0.0' || bytes.every((byte) => byte === 0)) {
    failures.push(invalidValue(path, address, `may not be unspecified (${address})`));
  }
  for (const [text, blocks] of ranges) {
    const inside = blocks.some((block) => {
      const parsed = parseCIDR(block);
      return parsed !== undefined && blockContains(parsed, address);
    });
    if (inside) failures.push(invalidValue(path, address, text));
  }
  return failures;
}
