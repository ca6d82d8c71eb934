/** Checks metrics with Prometheus's own tool. */
import { run } from '#test/e2e/harness.js';
import { prometheusProgram } from '#test/prometheus.js';

/** Path of the tool; undefined if it is not installed. */
export const promtool = prometheusProgram('promtool');

/** Warnings of the tool about metric names of release 1.24. */
const ofTheRelease =
  /^(apiserver_flowcontrol_(?:latest_s|next_s_bounds|next_discounted_s_bounds)|apiserver_admission_step_admission_duration_seconds_summary|authenticated_user_requests|authentication_attempts|authentication_token_cache_active_fetch_count|node_collector_evictions_number|node_ipam_controller_cidrset_\w+|cadvisor_version_info|container_fs_inodes_total|container_memory_failcnt|\w+_expiration_renew_errors|\w+_evictions) .*\n/gm;

/** The complaints of the tool; empty when there are none. */
export async function faults(program: string, metrics: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, ['check', 'metrics'], { input: metrics });
  // Exit code 3 means warnings only.
  if (code !== 0 && code !== 3) return `exit code ${code}\n${stdout}${stderr}`;
  return `${stdout}${stderr}`.replaceAll(ofTheRelease, '');
}
