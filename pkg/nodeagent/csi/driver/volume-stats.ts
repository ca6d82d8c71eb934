/** A driver's answer to NodeGetVolumeStats. Pure. */
import type { Message } from '#nodeagent/grpc/channel.js';

interface Amounts {
  readonly available: number;
  readonly total: number;
  readonly used: number;
}

export interface VolumeStats {
  /** Zeros for units that the driver does not report. */
  readonly bytes: Amounts;
  readonly inodes: Amounts;
  /** The volume's health; meaningful if the driver has the capability VOLUME_CONDITION. */
  readonly abnormal: boolean;
  /** At most `maxMessageLength` characters. */
  readonly message: string;
}

const maxMessageLength = 1024;
const none: Amounts = { available: 0, total: 0, used: 0 };

/** Decodes the response. The last entry of a unit counts. Throws Error without usage, with 1.24's text. */
export function volumeStatsOf({ usage, volumeCondition }: Message): VolumeStats {
  const list = (usage ?? []) as readonly Readonly<Record<keyof Amounts | 'unit', unknown>>[];
  if (list.length === 0) throw new Error('failed to get usage from response. usage is nil');
  const amounts = (unit: string): Amounts => {
    const entry = list.findLast((each) => each.unit === unit);
    if (entry === undefined) return none;
    return { available: Number(entry.available), total: Number(entry.total), used: Number(entry.used) };
  };
  const { abnormal, message } = (volumeCondition ?? {}) as { readonly abnormal?: unknown; readonly message?: unknown };
  return {
    bytes: amounts('BYTES'),
    inodes: amounts('INODES'),
    abnormal: abnormal === true,
    message: String(message ?? '').slice(0, maxMessageLength),
  };
}
