"""The cloud replica's program, run without Pulumi's engine and without a cloud."""
