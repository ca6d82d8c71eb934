/** All settings of simulated pods. `docs/testing.md` explains each; a test compares both. */
import { execAnswers, httpAnswers } from '#nodeagent/simulated/settings/answers.js';
import { usageProfile } from '#nodeagent/simulated/settings/usage.js';
import {
  byAttempt,
  duration,
  durationOrNever,
  oneOf,
  type Parser,
  text,
  whole,
} from '#nodeagent/simulated/settings/values.js';

interface Setting<T> {
  /** Whether containers may have their own value. */
  readonly ofContainers: boolean;
  readonly parse: Parser<T>;
}

const ofPod = <T>(parse: Parser<T>): Setting<T> => ({ ofContainers: false, parse });
const ofContainer = <T>(parse: Parser<T>): Setting<T> => ({ ofContainers: true, parse });
const count = whole(0, 1_000_000);

export const settingTable = {
  'sandbox-latency': ofPod(duration),
  'sandbox-failure': ofPod(text),
  'sandbox-failure-times': ofPod(count),
  'pull-latency': ofContainer(duration),
  'pull-failure': ofContainer(text),
  'pull-failure-times': ofContainer(count),
  'create-failure': ofContainer(text),
  'create-failure-times': ofContainer(count),
  'start-latency': ofContainer(duration),
  'start-failure': ofContainer(text),
  'start-failure-times': ofContainer(count),
  'exit-after': ofContainer(byAttempt(durationOrNever)),
  'exit-code': ofContainer(byAttempt(whole(0, 255))),
  'exit-reason': ofContainer(text),
  'exit-message': ofContainer(text),
  'oom-after': ofContainer(byAttempt(durationOrNever)),
  'stop-latency': ofContainer(durationOrNever),
  'ready-after': ofContainer(byAttempt(durationOrNever)),
  'unready-after': ofContainer(byAttempt(durationOrNever)),
  'unhealthy-after': ofContainer(byAttempt(durationOrNever)),
  log: ofContainer(text),
  'log-every': ofContainer(duration),
  'log-text': ofContainer(text),
  'log-count': ofContainer(count),
  'log-stream': ofContainer(oneOf('stdout', 'stderr')),
  cpu: ofContainer(usageProfile),
  'cpu-shared': ofContainer(usageProfile),
  memory: ofContainer(usageProfile),
  http: ofContainer(httpAnswers),
  exec: ofContainer(execAnswers),
} as const;

export type SettingName = keyof typeof settingTable;
export type SettingValue<K extends SettingName> = ReturnType<(typeof settingTable)[K]['parse']>;

export function isSetting(name: string): name is SettingName {
  return Object.hasOwn(settingTable, name);
}
