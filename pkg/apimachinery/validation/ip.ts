/** Messages about IP addresses. */
import { ipFamily } from '#apimachinery/net/ip.js';
import { noErrors } from '#apimachinery/validation/names.js';

/** Messages for something that must be an address of either family. */
export function ipErrors(value: string): readonly string[] {
  return ipFamily(value) === 0 ? ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'] : noErrors;
}
