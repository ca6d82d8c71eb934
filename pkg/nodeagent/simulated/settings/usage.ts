/**
 * Resource use of a simulated container over time. Pure.
 *
 * | text | meaning |
 * |---|---|
 * | `250m`, `64Mi` | always this much |
 * | `80%` | a share of the container's request |
 * | `0s=100m, 5m=900m, 5m=0` | straight lines between points in time; two points at one time are a step |
 * | `wave(100m, 900m, 10m)` | a sine between two amounts with this period, which begins with the first |
 */
import { isQuantity, parseQuantity } from '#apimachinery/quantity.js';
import { duration, type Parser, SettingError, shown, text } from '#nodeagent/simulated/settings/values.js';

/** Cores or bytes, or a share of the request. */
interface Amount {
  readonly value: number;
  readonly isShare: boolean;
}

export type UsageProfile =
  | { readonly kind: 'points'; readonly points: readonly { readonly atMs: number; readonly amount: Amount }[] }
  | { readonly kind: 'wave'; readonly low: Amount; readonly high: Amount; readonly periodMs: number };

const maxPoints = 100;
const wave = /^wave\(([^,()]+),([^,()]+),([^,()]+)\)$/;

function amountOf(given: string): Amount {
  const trimmed = given.trim();
  const share = /^(\d+(?:\.\d+)?)%$/.exec(trimmed)?.[1];
  if (share !== undefined) return { value: Number(share) / 100, isShare: true };
  if (isQuantity(trimmed)) {
    const value = Number(parseQuantity(trimmed).nanos) / 1e9;
    if (value >= 0) return { value, isShare: false };
  }
  throw new SettingError(`${shown(trimmed)} is not an amount such as 250m, 64Mi or 80%`);
}

/** Throws SettingError. */
export const usageProfile: Parser<UsageProfile> = (value) => {
  const given = text(value).trim();
  const [all, low = '', high = '', period = ''] = wave.exec(given) ?? [];
  if (all !== undefined) {
    const periodMs = duration(period);
    if (periodMs <= 0) throw new SettingError(`${shown(given)} has no period`);
    return { kind: 'wave', low: amountOf(low), high: amountOf(high), periodMs };
  }
  const parts = given.split(',');
  if (parts.length > maxPoints) throw new SettingError(`${parts.length} points: at most ${maxPoints} are possible`);
  const points = parts.map((part) => {
    const [time, amount] = part.split('=');
    return amount === undefined
      ? { atMs: parts.length === 1 ? 0 : timeless(part), amount: amountOf(part) }
      : { atMs: duration(time), amount: amountOf(amount) };
  });
  if (points.some(({ atMs }, i) => i > 0 && atMs < (points[i - 1]?.atMs ?? 0))) {
    throw new SettingError(`${shown(given)}: the times of its points go back`);
  }
  return { kind: 'points', points };
};

function timeless(part: string): never {
  throw new SettingError(`${shown(part.trim())} has no time: write points as 5m=900m`);
}

/** Whether the profile needs a request. */
export function usesRequest(profile: UsageProfile): boolean {
  if (profile.kind === 'wave') return profile.low.isShare || profile.high.isShare;
  return profile.points.some(({ amount }) => amount.isShare);
}

/** Amounts in cores or bytes. */
type Curve =
  | { readonly kind: 'points'; readonly points: readonly { readonly atMs: number; readonly amount: number }[] }
  | { readonly kind: 'wave'; readonly low: number; readonly high: number; readonly periodMs: number };

export class Usage {
  readonly #curve: Curve;

  /** `request`: in cores or bytes; shares of an absent one are zero. */
  constructor(profile: UsageProfile, request = 0) {
    const size = ({ value, isShare }: Amount) => (isShare ? value * request : value);
    this.#curve =
      profile.kind === 'wave'
        ? { ...profile, low: size(profile.low), high: size(profile.high) }
        : { kind: 'points', points: profile.points.map(({ atMs, amount }) => ({ atMs, amount: size(amount) })) };
  }

  /** The amount in use at this time after the start. */
  at(ms: number): number {
    const curve = this.#curve;
    if (curve.kind === 'wave') {
      const { low, high, periodMs } = curve;
      return low + ((high - low) / 2) * (1 - Math.cos((2 * Math.PI * ms) / periodMs));
    }
    const { points } = curve;
    const next = points.findIndex(({ atMs }) => atMs > ms);
    const before = points[(next < 0 ? points.length : next) - 1];
    const after = next < 0 ? undefined : points[next];
    if (before === undefined || after === undefined) return (before ?? after)?.amount ?? 0;
    return before.amount + ((after.amount - before.amount) * (ms - before.atMs)) / (after.atMs - before.atMs);
  }

  /** The use from the start to this time: amount × milliseconds. */
  total(ms: number): number {
    const curve = this.#curve;
    if (curve.kind === 'wave') {
      const { low, high, periodMs } = curve;
      const turns = (2 * Math.PI * ms) / periodMs;
      return ((low + high) / 2) * ms - (((high - low) / 2) * periodMs * Math.sin(turns)) / (2 * Math.PI);
    }
    let sum = 0;
    let from = { atMs: 0, amount: this.at(0) };
    for (const point of curve.points) {
      if (point.atMs >= ms) break;
      sum += ((from.amount + point.amount) / 2) * (point.atMs - from.atMs);
      from = point;
    }
    return sum + ((from.amount + this.at(ms)) / 2) * (ms - from.atMs);
  }

  /** The first time at which more than `limit` is in use; undefined: never. */
  exceeds(limit: number): number | undefined {
    const curve = this.#curve;
    if (this.at(0) > limit) return 0;
    if (curve.kind === 'wave') {
      const { low, high, periodMs } = curve;
      if (Math.max(low, high) <= limit) return undefined;
      return (Math.acos(1 - (2 * (limit - low)) / (high - low)) * periodMs) / (2 * Math.PI);
    }
    const { points } = curve;
    const at = points.findIndex(({ amount }) => amount > limit);
    const over = points[at];
    if (over === undefined) return undefined;
    const before = points[at - 1] ?? { atMs: 0, amount: limit };
    const share = (limit - before.amount) / (over.amount - before.amount);
    return before.atMs + (over.atMs - before.atMs) * share;
  }
}
