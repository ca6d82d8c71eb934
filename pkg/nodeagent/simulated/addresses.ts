/** Pod addresses of a simulated node: handed out in order, the longest unused first. */
import { formatIPv4, ipv4Number, parseIPv4Range } from '#apimachinery/net/ipv4-range.js';

export class AddressPool {
  readonly #base: number;
  readonly #size: number;
  readonly #free: number[] = [];
  #next = 2;

  /** @param cidr IPv4, such as `10.244.3.0/24`; throws RangeError for anything else. */
  constructor(cidr: string) {
    const { base, bits, size } = parseIPv4Range(cidr);
    if (bits > 30) throw new RangeError(`"${cidr}" has no room for pods`);
    this.#base = base;
    this.#size = size;
  }

  /** Undefined when all are taken. */
  take(): string | undefined {
    // Address 0 is the network, 1 the gateway, the last the broadcast.
    const offset = this.#next < this.#size - 1 ? this.#next++ : this.#free.shift();
    return offset === undefined ? undefined : formatIPv4(this.#base + offset);
  }

  release(ip: string): void {
    const number = ipv4Number(ip);
    if (number !== undefined) this.#free.push(number - this.#base);
  }
}
