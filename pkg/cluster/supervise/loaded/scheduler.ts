/** What a process with a scheduler needs besides: loaded when the API server starts, which shows its explanations. */
export { explainPages } from '#scheduler/explain/page.js';
export { httpExtenders } from '#scheduler/extenders/http-extender.js';
export { schedulerMetrics } from '#scheduler/metrics/metrics.js';
export { schedulerOptions, schedulerRules } from '#scheduler/options/options.js';
export { Scheduler } from '#scheduler/scheduler.js';
export { setUpScheduler } from '#scheduler/setup.js';
