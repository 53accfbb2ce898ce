// Example nodes for a service without any: to see what the page shows before there are machines.
import { isOperator, request } from '../api.js';
import { useAction } from '../data.js';
import { html } from '../html.js';
import { Command, Empty, Problem } from '../widgets.js';

/** The nodes: [name, resource class, traits]. Their hardware type drives no machine. */
const NODES = [
  ['example-1', 'example-gold', ['HW_CPU_X86_VMX', 'STORAGE_DISK_SSD', 'CUSTOM_RACK_1']],
  ['example-2', 'example-gold', ['HW_CPU_X86_VMX', 'STORAGE_DISK_SSD', 'CUSTOM_RACK_2']],
  ['example-3', 'example-gpu', ['HW_CPU_X86_VMX', 'HW_GPU_API_VULKAN', 'CUSTOM_RACK_2']],
];

/** What is shown in place of nodes if there are none; onCreate is called when there are example nodes. */
export function NoNodes({ onCreate }) {
  const [run, state, reset] = useAction(async () => {
    for (const [name, resource_class, traits] of NODES) {
      const { uuid } = await request('POST', '/v1/nodes', { name, resource_class, driver: 'fake-hardware', description: 'An example without a machine' });
      await request('PUT', `/v1/nodes/${uuid}/traits`, { traits });
      await request('PUT', `/v1/nodes/${uuid}/states/provision`, { target: 'manage' });
    }
    onCreate();
  });
  const look = () => {
    reset();
    onCreate();
  };
  return html`<${Empty} title="There are no nodes yet, or none that you may see.">
    <p>Register one:</p>
    <${Command} label="baremetal">baremetal node create --driver fake-hardware --name rack1-1 --resource-class gold<//>
    ${isOperator() && !state.error && html`<p><button type="button" disabled=${state.running} onClick=${() => run()}>${state.running ? 'Creating …' : 'Create three example nodes'}</button></p>
      <p>They have traits and no machines. Delete them when you like.</p>`}
    <${Problem} error=${state.error} />
    ${state.error && html`<p>Some of the nodes may be there. <button type="button" onClick=${look}>Look</button></p>`}
  <//>`;
}
