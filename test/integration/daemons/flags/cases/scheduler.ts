/** Command lines of the scheduler. */
import { common, leader, numbers, requestHeaders, serving } from '#test/integration/daemons/flags/cases/shared.js';

export const scheduler = [
  ...serving,
  ...common,
  ...requestHeaders,
  ...leader,
  ...numbers(['kube-api-burst', 'kube-api-qps'], ['-1', '0', 'x']),
  ...numbers(['pod-max-in-unschedulable-pods-duration'], ['-1s', '0', '1x']),
  ['--kube-api-content-type=x'],
  ['--config=$DIR/none'],
  ['--config=$DIR/sa.pub'],
  ['--config='],
  ['--kubeconfig=$DIR/none'],
  ['--authentication-kubeconfig=$DIR/none'],
  ['--authorization-kubeconfig=$DIR/none'],
  ['--client-ca-file=$DIR/none'],
  ['--policy-config-file=x'],
  ['--lock-object-name=x'],
  ['--write-config-to=$DIR/written'],
  ['--contention-profiling', '--profiling=false'],
  ['argument'],
];
