/** What speaks against running on a machine with swap, as `--fail-swap-on` has it; `list`: the text of `/proc/swaps`. */
export function swapRefusal(list: string): string | undefined {
  // The first line is the heading. Systems without that file have no swap.
  if (list.trim().split('\n').length <= 1) return undefined;
  return (
    'running with swap on is not supported: turn it off, or set --fail-swap-on=false. ' +
    `/proc/swaps contained:\n${list.trim()}`
  );
}
