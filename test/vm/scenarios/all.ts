/** All scenarios, in the order in which they run. */
import type { Scenario } from '#test/vm/lab.js';
import { eviction } from '#test/vm/scenarios/eviction.js';
import { lifecycle } from '#test/vm/scenarios/lifecycle.js';
import { pods } from '#test/vm/scenarios/pods.js';
import { systemdDriver } from '#test/vm/scenarios/systemd-driver.js';

export const scenarios: readonly Scenario[] = [pods, lifecycle, systemdDriver, eviction];
