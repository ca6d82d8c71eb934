import { messageOf } from '#apimachinery/errors/message.js';

/** A step of a removal, and what it is that stays when it fails. */
export type RemovalStep = readonly [left: string, remove: () => unknown];

/** What is left after a removal, and why. */
export class LeftBehindError extends Error {
  override readonly name = 'LeftBehindError';
  /** A line each. */
  readonly left: readonly string[];

  constructor(left: readonly string[]) {
    super(`left behind: ${left.join('; ')}`);
    this.left = left;
  }
}

/** Takes every step, also after one that failed. Throws LeftBehindError with all that is left. */
export async function takeEveryStep(steps: readonly RemovalStep[]): Promise<void> {
  const left: string[] = [];
  for (const step of steps) left.push(...(await leftBy(step)));
  if (left.length > 0) throw new LeftBehindError(left);
}

/** The same, all at once. */
export async function takeStepsTogether(steps: readonly RemovalStep[]): Promise<void> {
  const left = (await Promise.all(steps.map(leftBy))).flat();
  if (left.length > 0) throw new LeftBehindError(left);
}

async function leftBy([what, remove]: RemovalStep): Promise<readonly string[]> {
  try {
    await remove();
    return [];
  } catch (error) {
    return error instanceof LeftBehindError ? error.left : [`${what}: ${messageOf(error)}`];
  }
}
