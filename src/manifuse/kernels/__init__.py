"""The lowest floor: functions of arrays that import nothing else of ours."""
