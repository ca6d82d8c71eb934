/** Pod addresses of a simulated node: handed out in order, the longest unused first. */

function toNumber(ip: string): number {
  return ip.split('.').reduce((total, part) => total * 256 + Number(part), 0);
}

function toText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

export class AddressPool {
  readonly #base: number;
  readonly #size: number;
  readonly #free: number[] = [];
  #next = 2;

  /** @param cidr IPv4, such as `10.244.3.0/24`; throws RangeError for anything else. */
  constructor(cidr: string) {
    const match = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr);
    const bits = Number(match?.[2]);
    if (match?.[1] === undefined || bits > 30) throw new RangeError(`"${cidr}" is no IPv4 pod CIDR`);
    this.#size = 2 ** (32 - bits);
    this.#base = Math.floor(toNumber(match[1]) / this.#size) * this.#size;
  }

  /** Undefined when all are taken. */
  take(): string | undefined {
    // Address 0 is the network, 1 the gateway, the last the broadcast.
    const offset = this.#next < this.#size - 1 ? this.#next++ : this.#free.shift();
    return offset === undefined ? undefined : toText(this.#base + offset);
  }

  release(ip: string): void {
    this.#free.push(toNumber(ip) - this.#base);
  }
}
