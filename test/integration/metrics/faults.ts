/** What Prometheus's own tool says about metrics. */
import { run } from '#test/e2e/harness.js';
import { prometheusProgram } from '#test/prometheus.js';

/** Its path; undefined where it is missing. */
export const promtool = prometheusProgram('promtool');

/** What the tool grumbles about in names that are those of release 1.24. */
const ofTheRelease =
  /^(apiserver_admission_step_admission_duration_seconds_summary|authenticated_user_requests|authentication_attempts|authentication_token_cache_active_fetch_count|node_collector_evictions_number|node_ipam_controller_cidrset_\w+|cadvisor_version_info|container_fs_inodes_total|container_memory_failcnt|\w+_expiration_renew_errors|\w+_evictions) .*\n/gm;

/** What the tool finds fault with; empty when nothing. */
export async function faults(program: string, metrics: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, ['check', 'metrics'], { input: metrics });
  // It ends with 3 when it only grumbles.
  if (code !== 0 && code !== 3) return `exit code ${code}\n${stdout}${stderr}`;
  return `${stdout}${stderr}`.replaceAll(ofTheRelease, '');
}
