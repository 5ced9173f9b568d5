// Placeholder signature so that types.ts compiles; the registry itself comes with the core.
export class ToolRegistry {}
