/** Removals of several steps, each of which is attempted although others fail. */
import { messageOf } from '#apimachinery/errors/message.js';

/** A step of a removal, with the name of the thing that remains when it fails. */
export type RemovalStep = readonly [name: string, remove: () => unknown];

/** The remaining things after a removal, with reasons. */
export class LeftBehindError extends Error {
  override readonly name = 'LeftBehindError';
  /** One line for each. */
  readonly left: readonly string[];

  constructor(left: readonly string[]) {
    super(`left behind: ${left.join('; ')}`);
    this.left = left;
  }
}

/** Takes every step, also after a failed one. Rejects with a LeftBehindError for failed steps. */
export async function takeEveryStep(steps: readonly RemovalStep[]): Promise<void> {
  const left: string[] = [];
  for (const step of steps) left.push(...(await leftBy(step)));
  if (left.length > 0) throw new LeftBehindError(left);
}

/** The same, with all steps at the same time. */
export async function takeStepsTogether(steps: readonly RemovalStep[]): Promise<void> {
  const left = (await Promise.all(steps.map(leftBy))).flat();
  if (left.length > 0) throw new LeftBehindError(left);
}

async function leftBy([name, remove]: RemovalStep): Promise<readonly string[]> {
  try {
    await remove();
    return [];
  } catch (error) {
    return error instanceof LeftBehindError ? error.left : [`${name}: ${messageOf(error)}`];
  }
}
