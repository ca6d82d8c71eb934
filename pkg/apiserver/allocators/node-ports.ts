/** The range of node ports. */
export class NodePortRange {
  readonly first: number;
  readonly last: number;

  /** `30000-32767`, or `30000+2767`. Throws RangeError. */
  constructor(text: string) {
    const match = /^(\d+)([-+])(\d+)$/.exec(text.trim());
    const first = Number(match?.[1]);
    const last = match?.[2] === '+' ? first + Number(match[3]) : Number(match?.[3]);
    if (match === null || !(first >= 1 && last <= 65_535 && first <= last))
      throw new RangeError(`"${text}" is no range of ports`);
    this.first = first;
    this.last = last;
  }

  get size(): number {
    return this.last - this.first + 1;
  }

  at(offset: number): number {
    return this.first + offset;
  }

  offsetOf(port: number): number | undefined {
    return port >= this.first && port <= this.last ? port - this.first : undefined;
  }
}
