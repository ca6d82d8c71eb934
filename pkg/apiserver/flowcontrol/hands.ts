/** Shuffle sharding: each flow gets a hand of queues, so that few flows share all of theirs with a noisy one. Pure. */
import { createHash } from 'node:crypto';

/** 64 bits of entropy for a flow. */
export function flowHash(schema: string, distinguisher: string): bigint {
  return createHash('sha256').update(`${schema}\0${distinguisher}`).digest().readBigUInt64LE();
}

/** The numbers of `size` different queues out of `queues`, dealt as 1.24 deals them. */
export function dealHand(hash: bigint, queues: number, size: number): number[] {
  let rest = hash;
  const remainders: number[] = [];
  for (let i = 0; i < size; i++) {
    const left = BigInt(queues - i);
    remainders.push(Number(rest % left));
    rest /= left;
  }
  return remainders.map((remainder, i) => {
    let card = remainder;
    for (let j = i; j > 0; j--) if (card >= (remainders[j - 1] as number)) card++;
    return card;
  });
}
