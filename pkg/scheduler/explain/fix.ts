import type { Trial } from '#scheduler/explain/trial.js';

/** Applies a change to the trial and describes it in words that follow “to”. */
export type Fix = (trial: Trial) => string;
