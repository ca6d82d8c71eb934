import type { Trial } from '#scheduler/explain/trial.js';

/** Changes the trial and says how, in words that follow “to”. */
export type Fix = (trial: Trial) => string;
