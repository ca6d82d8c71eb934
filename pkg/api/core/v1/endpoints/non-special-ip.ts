/** Addresses that can receive traffic from other machines. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipBytes } from '#apimachinery/net/ip.js';
import { rangeOfBytes, type SpecialRange } from '#apimachinery/net/special-ip.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Refused ranges; 1.24 accepts other multicast addresses. */
const refusals: { readonly [range in SpecialRange]?: string } = {
  loopback: 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  linkLocal: 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  linkLocalMulticast: 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
};

/** Must not be unspecified, loopback or link-local, in any spelling. */
export function validateNonSpecialIP(path: FieldPath, address: string): readonly FieldFailure[] {
  const bytes = ipBytes(address);
  if (bytes === undefined) return [invalidValue(path, address, 'must be a valid IP address')];
  const range = rangeOfBytes(bytes);
  if (range === undefined) return none;
  const text = range === 'unspecified' ? `may not be unspecified (${address})` : refusals[range];
  return text === undefined ? none : [invalidValue(path, address, text)];
}
